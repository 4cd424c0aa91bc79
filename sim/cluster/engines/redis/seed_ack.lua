-- ack: ARGV = id, generation, deadline, bucket of each.
local s = KEYS[1]
local answers = {}
for i = 1, #ARGV, 4 do
    local member = ARGV[i] .. ':' .. ARGV[i + 1] .. ':' .. ARGV[i + 2]
    redis.call('LREM', 'b:' .. s .. ':' .. ARGV[i + 3], 1, member)
    redis.call('HDEL', 'read:' .. s, member)
    local key = 't:' .. s .. ':' .. ARGV[i]
    if redis.call('GET', key) == member .. ' ' .. ARGV[i + 3] then
        redis.call('DEL', key)
    end
    answers[#answers + 1] = '1'
end
return table.concat(answers)
