-- fetch: ARGV = bucket, now, whether the entry stays until its call was acknowledged. Reads the bucket of
-- a tick, and puts what is due into the queue. What is of another revolution stays.
local s, b = KEYS[1], 'b:' .. KEYS[1] .. ':' .. ARGV[1]
local queued = 0
for _, member in ipairs(redis.call('LRANGE', b, 0, -1)) do
    if tonumber(string.match(member, ':(%d+)$')) < tonumber(ARGV[2]) then
        redis.call('LPUSH', 'rdy:' .. s, member)
        queued = queued + 1
        if ARGV[3] == '1' then
            redis.call('HSET', 'read:' .. s, member, 1)
        else
            redis.call('LREM', b, 1, member)
            redis.call('DEL', 't:' .. s .. ':' .. string.match(member, '^%d+'))
        end
    end
end
return queued
