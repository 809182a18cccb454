-- Moves the position, if nobody else has taken the right to write.
-- KEYS: position. ARGV: token of the writer, then members and their values.
if redis.call('HGET', KEYS[1], 'writer') ~= ARGV[1] then
  return redis.error_reply('FENCED another writer has begun')
end
local swapped = redis.call('HDEL', KEYS[1], 'writer', 'prefix', 'behind') > 1
redis.call('HSET', KEYS[1], unpack(ARGV, 2))
if swapped and redis.call('HEXISTS', KEYS[1], 'prefix') == 0 then
  redis.call('UNLINK', KEYS[1] .. ':behind') -- there is one side from now on
end
return redis.call('HINCRBY', KEYS[1], 'revision', 1)
