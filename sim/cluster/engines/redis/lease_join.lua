-- join: ARGV = now, lease, node, ids. A node has the id of its number, whose lock it renews; and for one lease each the ids
-- whose lock has ended, as their nodes are gone. Returns its ids, as bits.
local own, me = 'own:' .. KEYS[1], ARGV[3]
local now, has = tonumber(ARGV[1]), 0
local lock = me .. ' ' .. string.format('%.0f', now + ARGV[2])
for id = 0, ARGV[4] - 1 do
    local owner, ends = string.match(redis.call('HGET', own, id) or '- 0', '^(%S+) (%d+)$')
    local ended = tonumber(ends) <= now
    local is_mine = id == me % ARGV[4]
    if (is_mine and (owner == me or ended)) or (owner ~= '-' and ended) then
        redis.call('HSET', own, id, lock)
        has = has + 2 ^ id
    elseif owner == me then
        has = has + 2 ^ id
    end
end
return has
