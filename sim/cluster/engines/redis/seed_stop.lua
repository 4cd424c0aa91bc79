-- stop: ARGV = id, generation of each. What its bucket does not hold any more was read, and may fire.
local s = KEYS[1]
local answers = {}
for i = 1, #ARGV, 2 do
    local key = 't:' .. s .. ':' .. ARGV[i]
    local old = redis.call('GET', key)
    local answer = '0'
    if old then
        local member, gen, bucket = string.match(old, '^(%d+:(%d+):%d+) (%d+)$')
        if gen == ARGV[i + 1] then
            local held = redis.call('LREM', 'b:' .. s .. ':' .. bucket, 1, member)
            answer = held == 1 and redis.call('HDEL', 'read:' .. s, member) == 0 and '1' or '2'
            redis.call('DEL', key)
        end
    end
    answers[#answers + 1] = answer
end
return table.concat(answers)
