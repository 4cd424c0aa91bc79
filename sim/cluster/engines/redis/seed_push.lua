-- push: ARGV = id, generation, deadline of each, into the queue.
for i = 1, #ARGV, 3 do
    redis.call('LPUSH', 'rdy:' .. KEYS[1], ARGV[i] .. ':' .. ARGV[i + 1] .. ':' .. ARGV[i + 2])
end
return string.rep('1', #ARGV / 3)
