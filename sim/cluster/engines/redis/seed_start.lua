-- start: ARGV = ticks a revolution, tick, then id, generation, deadline, call of each. The bucket is a list; what it
-- holds is id:generation:deadline, so that its reader needs no other key. An entry whose tick the clock has passed may
-- have been read: it may still fire.
local s = KEYS[1]
local answers = {}
local clock = tonumber(redis.call('HGET', 'clk:' .. s, 'now') or 0)
for i = 3, #ARGV, 4 do
    local id, gen, at = ARGV[i], ARGV[i + 1], tonumber(ARGV[i + 2])
    local key, member = 't:' .. s .. ':' .. id, id .. ':' .. gen .. ':' .. ARGV[i + 2]
    local tick = math.floor(at / tonumber(ARGV[2])) % tonumber(ARGV[1])
    local old = redis.call('GET', key)
    local answer = '1'
    if old then
        local before, g, was_at, bucket = string.match(old, '^(%d+:(%d+):(%d+)) (%d+)$')
        if tonumber(g) >= tonumber(gen) then
            answer = '0'
        else
            local held = redis.call('LREM', 'b:' .. s .. ':' .. bucket, 1, before)
            answer = held == 1 and math.floor(was_at / tonumber(ARGV[2])) >= clock and '1' or '2'
        end
    end
    if answer ~= '0' then
        redis.call('SET', key, member .. ' ' .. tick)
        redis.call('SET', 'c:' .. s .. ':' .. id .. ':' .. gen, ARGV[i + 3], 'PX', 86400000)
        redis.call('LPUSH', 'b:' .. s .. ':' .. tick, member)
    end
    answers[#answers + 1] = answer
end
return table.concat(answers)
