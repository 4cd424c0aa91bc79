-- nack: ARGV = partitions, attempts at most (0: the service asked for it, and no attempt is counted), then id, generation, token, when to try again of each.
local s, form = KEYS[1], '<c1I4I4dd'
local answers = {}
for i = 3, #ARGV, 4 do
    local id, gen, token = ARGV[i], tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2])
    local key, member = 't:' .. s .. ':' .. id, id .. ':' .. gen
    local old = redis.call('GET', key)
    local answer = '0'
    if old then
        local state, g, attempts, t, at = struct.unpack(form, old)
        if g == gen and t == token and state == 'F' then
            local most = tonumber(ARGV[2])
            local dead = most > 0 and attempts >= most
            attempts = attempts - (most == 0 and 1 or 0)
            redis.call('SET', key, struct.pack(form, dead and 'Z' or 'P', g, attempts, t, at))
            redis.call('ZREM', 'fly:' .. s, member)
            redis.call('ZADD', dead and 'dead:' .. s or 'due:' .. s .. ':' .. id % ARGV[1], ARGV[i + 3], member)
            answer = dead and '2' or '1'
        end
    end
    answers[#answers + 1] = answer
end
return table.concat(answers)
