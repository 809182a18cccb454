-- Makes keys like others, absent where those are.
-- KEYS: position, then for each row the key to copy and the one that becomes like it. ARGV: token of the writer.
if redis.call('HGET', KEYS[1], 'writer') ~= ARGV[1] then
  return redis.error_reply('FENCED another writer has begun')
end
for i = 2, #KEYS, 2 do
  if redis.call('COPY', KEYS[i], KEYS[i + 1], 'REPLACE') == 0 then
    redis.call('UNLINK', KEYS[i + 1])
  end
end
return redis.status_reply('OK')
