-- ack: ARGV = for how long it is remembered, then id, generation, token of each. Only who holds the token is
-- believed.
local s, form = KEYS[1], '<c1I4I4dd'
local answers, landed = {}, {}
for i = 2, #ARGV, 3 do
    local id, gen, token = ARGV[i], tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2])
    local key = 't:' .. s .. ':' .. id
    local old = redis.call('GET', key)
    local answer = '0'
    if old then
        local state, g, attempts, t, at = struct.unpack(form, old)
        if g == gen and t == token and state == 'F' then
            redis.call('SET', key, struct.pack(form, 'D', g, attempts, t, at), 'PX', ARGV[1])
            redis.call('DEL', 'c:' .. s .. ':' .. id)
            landed[#landed + 1] = id .. ':' .. gen
            answer = '1'
        elseif g == gen and t == token and state == 'D' then
            answer = '1' -- said twice
        end
    end
    answers[#answers + 1] = answer
end
if #landed > 0 then
    redis.call('ZREM', 'fly:' .. s, unpack(landed))
end
return table.concat(answers)
