-- hand_out: ARGV = now, partitions. Puts the names of the lists that have something due into the set of lists.
local s = KEYS[1]
for p = 0, ARGV[2] - 1 do
    if #redis.call('ZRANGEBYSCORE', 'due:' .. s .. ':' .. p, '-inf', ARGV[1], 'LIMIT', 0, 1) > 0 then
        redis.call('SADD', 'lst:' .. s, p)
    end
end
return redis.call('SCARD', 'lst:' .. s)
