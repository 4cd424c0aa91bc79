-- start: ARGV = ticks a revolution, tick, then id, generation, deadline of each. The bucket is a list; what it
-- holds is id:generation:deadline, so that whoever reads it needs no other key.
local s = KEYS[1]
local answers = {}
for i = 3, #ARGV, 3 do
    local id, gen, at = ARGV[i], ARGV[i + 1], tonumber(ARGV[i + 2])
    local key, member = 't:' .. s .. ':' .. id, id .. ':' .. gen .. ':' .. ARGV[i + 2]
    local tick = math.floor(at / tonumber(ARGV[2])) % tonumber(ARGV[1])
    local old = redis.call('GET', key)
    local answer = '1'
    if old then
        local g, bucket = string.match(old, '^%d+:(%d+):%d+ (%d+)$')
        if tonumber(g) >= tonumber(gen) then
            answer = '0'
        else
            local before = string.match(old, '^%S+')
            local held = redis.call('LREM', 'b:' .. s .. ':' .. bucket, 1, before)
            local read = redis.call('HDEL', 'read:' .. s, before)
            answer = held == 1 and read == 0 and '1' or '2'
        end
    end
    if answer ~= '0' then
        redis.call('SET', key, member .. ' ' .. tick)
        redis.call('LPUSH', 'b:' .. s .. ':' .. tick, member)
    end
    answers[#answers + 1] = answer
end
return table.concat(answers)
