-- Takes the right to write, if the position has not moved since it was read.
-- KEYS: position. ARGV: revision that was seen, token of the new writer.
if (redis.call('HGET', KEYS[1], 'revision') or '0') ~= ARGV[1] then
  return redis.error_reply('FENCED the position has moved')
end
redis.call('HSET', KEYS[1], 'writer', ARGV[2])
return redis.status_reply('OK')
