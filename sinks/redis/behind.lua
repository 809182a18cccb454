-- Says anew how far the hidden side is behind, and forgets the keys that were noted.
-- KEYS: position, set of the keys. ARGV: token of the writer, 'all' or '0'.
if redis.call('HGET', KEYS[1], 'writer') ~= ARGV[1] then
  return redis.error_reply('FENCED another writer has begun')
end
redis.call('UNLINK', KEYS[2])
redis.call('HSET', KEYS[1], 'behind', ARGV[2])
return redis.status_reply('OK')
