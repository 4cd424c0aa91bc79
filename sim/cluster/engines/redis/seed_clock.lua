-- A clock, the scheduler's or that of the scan behind it: ARGV = its name, tick now, version. It moves on by
-- one, if nobody else has moved it, and it is not there yet.
local key = ARGV[1] .. ':' .. KEYS[1]
local clock = redis.call('HMGET', key, 'now', 'ver')
local at, version = tonumber(clock[1] or ARGV[2]), tonumber(clock[2] or 1)
if ARGV[3] ~= '0' and version ~= tonumber(ARGV[3]) then
    return { -1, version, at }
end
if at >= tonumber(ARGV[2]) then
    if not clock[1] then
        redis.call('HSET', key, 'now', at, 'ver', version)
    end
    return { -2, version, at }
end
redis.call('HSET', key, 'now', at + 1, 'ver', version + 1)
return { 0, version + 1, at }
