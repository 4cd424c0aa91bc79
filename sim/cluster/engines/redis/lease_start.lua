-- start: ARGV = partitions, then id, generation, deadline, call of each. A record is its state (P pending or ready, F in flight,
-- D done, Z dead, X stopped, Y stopped in flight), generation, attempts, token, deadline.
local s, form = KEYS[1], '<c1I4I4dd'
local answers = {}
for i = 2, #ARGV, 4 do
    local id, gen, at = ARGV[i], tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2])
    local key, list = 't:' .. s .. ':' .. id, 'due:' .. s .. ':' .. id % ARGV[1]
    local old = redis.call('GET', key)
    local answer = '1'
    if old then
        local state, g, attempts = struct.unpack(form, old)
        if g >= gen then
            answer = '0'
        elseif state == 'F' then
            redis.call('ZREM', 'fly:' .. s, id .. ':' .. g)
            answer = '2'
        elseif state == 'P' then
            redis.call('ZREM', list, id .. ':' .. g)
            answer = attempts > 0 and '2' or '1'
        end
    end
    if answer ~= '0' then
        redis.call('SET', key, struct.pack(form, 'P', gen, 0, 0, at))
        redis.call('SET', 'c:' .. s .. ':' .. id, ARGV[i + 3])
        redis.call('ZADD', list, at, id .. ':' .. gen)
    end
    answers[#answers + 1] = answer
end
return table.concat(answers)
