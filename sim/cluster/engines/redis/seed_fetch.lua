-- fetch: ARGV = bucket, now. Reads the bucket of a tick, and changes nothing. What is of another revolution is not read.
local found = {}
for _, member in ipairs(redis.call('LRANGE', 'b:' .. KEYS[1] .. ':' .. ARGV[1], 0, -1)) do
    if tonumber(string.match(member, ':(%d+)$')) < tonumber(ARGV[2]) then
        found[#found + 1] = member
    end
end
return table.concat(found, '\n')
