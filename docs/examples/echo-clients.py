#!/usr/bin/env python3
"""echo-clients PORT CONNECTIONS SECONDS: clients of libevent-server. Of every four one talks, one falls
silent, one never ends its line, one is killed. Exit status 1 if what talks is not answered, or if what
falls silent or does not end is not closed by the server."""
import asyncio, socket, struct, sys

port, connections, seconds = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])


async def read_line(reader):  # but heartbeats
    while (line := await reader.readline()) == b".\n":
        pass
    return line


async def client(number):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    kind = number % 4
    end = asyncio.get_running_loop().time() + seconds
    good = True
    if kind == 0:
        while good and asyncio.get_running_loop().time() < end:
            writer.write(b"%d\n" % number)
            good = await read_line(reader) == b"%d\n" % number
            await asyncio.sleep(0.05 + number % 13 / 100)
    else:
        writer.write(b"half" if kind == 2 else b"whole\n")
        if kind == 3:  # a reset instead of a farewell
            writer.get_extra_info("socket").setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        else:
            while await reader.read(4096):  # until the server closes
                pass
    writer.close()
    return good


async def main():
    answers = await asyncio.gather(*(client(number) for number in range(connections)))
    print(f"{sum(answers)} of {connections} clients are content")
    return 0 if all(answers) else 1


sys.exit(asyncio.run(main()))
