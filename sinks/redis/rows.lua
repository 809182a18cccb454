-- Changes rows. KEYS: the position, where there is a guard, then a key for each row. ARGV: guard (token of the writer, or '' for none),
-- then for each row
--   'd'                                       delete
--   's' value                                 a string
--   'h' n field value … m field …             a hash: n fields and values to set, then m fields to remove
--   'f' n field value …                       a hash that replaces whatever is there
-- Returns how many of the keys were there before; it is counted for 's' and 'f' only.
local key, at, there = 1, 2, 0
if ARGV[1] ~= '' then
  if redis.call('HGET', KEYS[1], 'writer') ~= ARGV[1] then
    return redis.error_reply('FENCED another writer has begun')
  end
  key = 2
end
for i = key, #KEYS do
  local op = ARGV[at]
  if op == 'd' then
    redis.call('DEL', KEYS[i])
    at = at + 1
  elseif op == 's' then
    there = there + redis.call('EXISTS', KEYS[i])
    redis.call('SET', KEYS[i], ARGV[at + 1], 'KEEPTTL')
    at = at + 2
  else
    local n = tonumber(ARGV[at + 1])
    if op == 'f' then
      there = there + redis.call('DEL', KEYS[i])
    end
    redis.call('HSET', KEYS[i], unpack(ARGV, at + 2, at + 1 + n))
    at = at + 2 + n
    if op == 'h' then
      local m = tonumber(ARGV[at])
      if m > 0 then
        redis.call('HDEL', KEYS[i], unpack(ARGV, at + 1, at + m))
      end
      at = at + 1 + m
    end
  end
end
return there
