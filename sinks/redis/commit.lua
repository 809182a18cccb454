-- Moves the position, if nobody else has taken the right to write.
-- KEYS: position. ARGV: token of the writer, then members and their values.
if redis.call('HGET', KEYS[1], 'writer') ~= ARGV[1] then
  return redis.error_reply('FENCED another writer has begun')
end
redis.call('HSET', KEYS[1], unpack(ARGV, 2))
redis.call('HDEL', KEYS[1], 'writer')
return redis.call('HINCRBY', KEYS[1], 'revision', 1)
