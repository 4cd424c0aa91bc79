-- advance: ARGV = now, limit, version. Claiming and moving the clock is one step, so that a crash leaves
-- nothing between them; and what is due is still in `due`, whenever it came.
local s = KEYS[1]
local clock = redis.call('HMGET', 'clk:' .. s, 'now', 'ver')
local was, version = tonumber(clock[1] or 0), tonumber(clock[2] or 0)
if ARGV[3] ~= '0' and version ~= tonumber(ARGV[3]) then
    return { -1, version }
end
local now = math.max(was, tonumber(ARGV[1]))
local due = redis.call('ZRANGEBYSCORE', 'due:' .. s, '-inf', now, 'LIMIT', 0, ARGV[2])
if #due > 0 then
    redis.call('LPUSH', 'rdy:' .. s, unpack(due))
    redis.call('ZREMRANGEBYRANK', 'due:' .. s, 0, #due - 1)
end
if #due > 0 or now - was >= 1000 then
    version = version + 1
    redis.call('HSET', 'clk:' .. s, 'now', now, 'ver', version)
end
return { #due, version }
