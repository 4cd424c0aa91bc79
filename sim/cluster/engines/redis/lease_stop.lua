-- stop: ARGV = partitions, then id, generation of each. What is said twice is answered as at first.
local s, form = KEYS[1], '<c1I4I4dd'
local answers = {}
for i = 2, #ARGV, 2 do
    local id, gen = ARGV[i], tonumber(ARGV[i + 1])
    local key = 't:' .. s .. ':' .. id
    local old = redis.call('GET', key)
    local answer = '0'
    if old then
        local state, g, attempts, token, at = struct.unpack(form, old)
        if g == gen and (state == 'P' or state == 'X') then
            -- One that was taken before may still be on its way.
            answer = attempts > 0 and '2' or '1'
            if state == 'P' then
                redis.call('SET', key, struct.pack(form, 'X', g, attempts, token, at))
                redis.call('DEL', 'c:' .. s .. ':' .. id)
                redis.call('ZREM', 'due:' .. s .. ':' .. id % ARGV[1], id .. ':' .. g)
            end
        elseif g == gen and (state == 'F' or state == 'Y') then
            answer = '2'
            if state == 'F' then
                redis.call('SET', key, struct.pack(form, 'Y', g, attempts, token, at))
                redis.call('DEL', 'c:' .. s .. ':' .. id)
                redis.call('ZREM', 'fly:' .. s, id .. ':' .. g)
            end
        end
    end
    answers[#answers + 1] = answer
end
return table.concat(answers)
