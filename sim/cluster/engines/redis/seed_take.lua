-- take: ARGV = how many. Out of the queue, and with whoever took it: there is no lease.
local s = KEYS[1]
local ready = redis.call('RPOP', 'rdy:' .. s, ARGV[1])
if not ready then
    return {}
end
local token = redis.call('INCRBY', 'seq:' .. s, #ready) - #ready
local taken = {}
for i, member in ipairs(ready) do
    local id, gen, at = string.match(member, '^(%d+):(%d+):(%d+)$')
    taken[2 * i - 1] = string.format('%s %s %.0f 1 %s', id, gen, token + i, at)
    taken[2 * i] = redis.call('GET', 'c:' .. s .. ':' .. id .. ':' .. gen) or ''
end
return taken
