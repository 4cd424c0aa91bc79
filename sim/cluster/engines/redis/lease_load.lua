-- load: ARGV = now, limit. Takes the name of a list, and moves what is due in it into the queue; what is left over keeps
-- its list named. -1: there is no list.
local s = KEYS[1]
local p = redis.call('SRANDMEMBER', 'lst:' .. s)
if not p then
    return -1
end
local key = 'due:' .. s .. ':' .. p
local due = redis.call('ZRANGEBYSCORE', key, '-inf', ARGV[1], 'LIMIT', 0, ARGV[2])
if #due > 0 then
    redis.call('LPUSH', 'rdy:' .. s, unpack(due))
    redis.call('ZREMRANGEBYRANK', key, 0, #due - 1)
end
if #due < tonumber(ARGV[2]) then
    redis.call('SREM', 'lst:' .. s, p)
end
return #due
