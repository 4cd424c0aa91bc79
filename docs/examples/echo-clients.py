#!/usr/bin/env python3
"""echo-clients PORT CONNECTIONS SECONDS [TIMES]: clients of the echo servers. All connect, and talk until
all are there. Then of every four one goes on talking for so many seconds, one falls silent, one never ends
its line, one is killed. Exit status 1 if what talks is not answered, or if what falls silent or does not
end is not closed by the server. TIMES slower, as the server whose second argument it is; one processor
serves 10,000 connections with 10."""
import asyncio, resource, socket, struct, sys

port, connections, seconds = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
slowly = float(sys.argv[4]) if len(sys.argv) > 4 else 1


async def say(number, reader, writer):
    writer.write(b"%d\n" % number)
    while (line := await reader.readline()) == b".\n":  # a heartbeat
        pass
    return line == b"%d\n" % number


async def client(number, turns, present, all_present):
    async with turns:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        good = await say(number, reader, writer)
    present.append(number)
    if len(present) == connections:
        all_present.set()
    while good and not all_present.is_set():
        try:
            await asyncio.wait_for(all_present.wait(), 0.7 * slowly)
        except asyncio.TimeoutError:
            good = await say(number, reader, writer)
    kind = number % 4
    end = asyncio.get_running_loop().time() + seconds
    if kind == 0:
        while good and asyncio.get_running_loop().time() < end:
            await asyncio.sleep((0.05 + number % 13 / 100) * slowly)
            good = await say(number, reader, writer)
    elif kind == 3:  # a reset instead of a farewell
        writer.get_extra_info("socket").setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    else:
        writer.write(b"half" if kind == 2 else b"whole\n")
        while await reader.read(4096):  # until the server closes
            pass
    writer.close()
    return good


async def main():
    turns, present, all_present = asyncio.Semaphore(256), [], asyncio.Event()
    answers = await asyncio.gather(
        *(client(number, turns, present, all_present) for number in range(connections)))
    print(f"{sum(answers)} of {connections} clients are content")
    return 0 if all(answers) else 1


resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
sys.exit(asyncio.run(main()))
