-- stop: ARGV = tick, then id, generation of each. What the clock has passed, or its bucket does not hold any more, may
-- have been read, and may fire.
local s = KEYS[1]
local answers = {}
local clock = tonumber(redis.call('HGET', 'clk:' .. s, 'now') or 0)
for i = 2, #ARGV, 2 do
    local key = 't:' .. s .. ':' .. ARGV[i]
    local old = redis.call('GET', key)
    local answer = '0'
    if old then
        local member, gen, at, bucket = string.match(old, '^(%d+:(%d+):(%d+)) (%d+)$')
        if gen == ARGV[i + 1] then
            local held = redis.call('LREM', 'b:' .. s .. ':' .. bucket, 1, member)
            answer = held == 1 and math.floor(at / tonumber(ARGV[1])) >= clock and '1' or '2'
            redis.call('DEL', key)
        end
    end
    answers[#answers + 1] = answer
end
return table.concat(answers)
