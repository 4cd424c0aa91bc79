-- claim: ARGV = now, limit, version, partition, node, ids. Moves what is due in a partition into the queue, in one step:
-- a crash leaves nothing between, and what is due is still there, whenever it came. Version 0: others do not matter. A
-- node that is given must have the lock of the partition's id.
local s, p = KEYS[1], ARGV[4]
local clock = redis.call('HMGET', 'clk:' .. s, 'now', 'ver')
local was, version = tonumber(clock[1] or 0), tonumber(clock[2] or 0)
if ARGV[3] ~= '0' and version ~= tonumber(ARGV[3]) then
    return { -1, version }
end
local now = math.max(was, tonumber(ARGV[1]))
if ARGV[5] ~= '-' then
    local owner, ends = string.match(redis.call('HGET', 'own:' .. s, p % ARGV[6]) or '- 0', '^(%S+) (%d+)$')
    if owner ~= ARGV[5] or tonumber(ends) <= now then
        return { -1, version }
    end
end
local due = redis.call('ZRANGEBYSCORE', 'due:' .. s .. ':' .. p, '-inf', now, 'LIMIT', 0, ARGV[2])
if #due > 0 then
    redis.call('LPUSH', 'rdy:' .. s, unpack(due))
    redis.call('ZREMRANGEBYRANK', 'due:' .. s .. ':' .. p, 0, #due - 1)
end
if #due > 0 or now - was >= 1000 then
    version = version + 1
    redis.call('HSET', 'clk:' .. s, 'now', now, 'ver', version)
end
return { #due, version }
