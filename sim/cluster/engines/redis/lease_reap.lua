-- reap: ARGV = now, limit, attempts at most. What has outrun its lease is ready again.
local s, form = KEYS[1], '<c1I4I4dd'
local late = redis.call('ZRANGEBYSCORE', 'fly:' .. s, '-inf', ARGV[1], 'LIMIT', 0, ARGV[2])
for _, member in ipairs(late) do
    local id = string.match(member, '^(%d+):')
    local key = 't:' .. s .. ':' .. id
    local state, g, attempts, t, at = struct.unpack(form, redis.call('GET', key))
    local dead = attempts >= tonumber(ARGV[3])
    redis.call('SET', key, struct.pack(form, dead and 'Z' or 'P', g, attempts, t, at))
    if dead then
        redis.call('ZADD', 'dead:' .. s, ARGV[1], member)
    else
        redis.call('LPUSH', 'rdy:' .. s, member)
    end
end
if #late > 0 then
    redis.call('ZREMRANGEBYRANK', 'fly:' .. s, 0, #late - 1)
end
return #late
