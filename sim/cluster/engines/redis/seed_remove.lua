-- remove: ARGV = bucket, id, generation, deadline of each: deletes the entries that were read.
local s = KEYS[1]
for i = 1, #ARGV, 4 do
    local member = ARGV[i + 1] .. ':' .. ARGV[i + 2] .. ':' .. ARGV[i + 3]
    redis.call('LREM', 'b:' .. s .. ':' .. ARGV[i], 1, member)
    local key = 't:' .. s .. ':' .. ARGV[i + 1]
    if redis.call('GET', key) == member .. ' ' .. ARGV[i] then
        redis.call('DEL', key)
    end
end
return string.rep('1', #ARGV / 4)
