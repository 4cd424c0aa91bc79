-- take: ARGV = how many, now, lease. Of what was ready, a stop or a restart has left ghosts.
local s, form = KEYS[1], '<c1I4I4dd'
local ready = redis.call('RPOP', 'rdy:' .. s, ARGV[1])
if not ready then
    return {}
end
local token = redis.call('INCRBY', 'seq:' .. s, #ready) - #ready
local ends = tonumber(ARGV[2]) + tonumber(ARGV[3])
local taken, fly = {}, {}
for _, member in ipairs(ready) do
    local id, gen = string.match(member, '^(%d+):(%d+)$')
    local key = 't:' .. s .. ':' .. id
    local old = redis.call('GET', key)
    if old then
        local state, g, attempts, _, at = struct.unpack(form, old)
        if state == 'P' and g == tonumber(gen) then
            token = token + 1
            redis.call('SET', key, struct.pack(form, 'F', g, attempts + 1, token, at))
            fly[#fly + 1] = ends
            fly[#fly + 1] = member
            taken[#taken + 1] = string.format('%s %s %.0f %d %.0f', id, gen, token, attempts + 1, at)
            taken[#taken + 1] = redis.call('GET', 'c:' .. s .. ':' .. id) or ''
        end
    end
end
if #fly > 0 then
    redis.call('ZADD', 'fly:' .. s, unpack(fly))
end
return taken
