-- Changes rows. KEYS: the position, where there is a guard, then a key for each row. ARGV:
--   guard                   token of the writer, or '' for none
--   'f' or ''               whether the rows replace whatever is there (a full epoch)
--   n field …               the fields of a hash
--   m field …               fields that no row has any more
-- then for each row
--   'd'                     delete
--   's' value               a string
--   'h' value …             a hash, a value for each field
--   'n' mask value …        a hash with nulls: mask has '1' for a field that has a value, '0' for one to remove
-- Returns how many of the keys were there before, if rows replace.
local key, there = 1, 0
if ARGV[1] ~= '' then
  if redis.call('HGET', KEYS[1], 'writer') ~= ARGV[1] then
    return redis.error_reply('FENCED another writer has begun')
  end
  key = 2
end
local replace, n = ARGV[2] == 'f', tonumber(ARGV[3])
local set = {}
for c = 1, n do
  set[2 * c] = ARGV[3 + c]
end
local m, gone = tonumber(ARGV[4 + n]), 4 + n
local at = gone + m + 1
for i = key, #KEYS do
  local op = ARGV[at]
  at = at + 1
  if op == 'd' then
    redis.call('DEL', KEYS[i])
  else
    if replace then
      there = there + redis.call('DEL', KEYS[i])
    end
    if op == 's' then
      redis.call('SET', KEYS[i], ARGV[at], 'KEEPTTL')
      at = at + 1
    elseif op == 'h' then
      set[1] = KEYS[i]
      for c = 1, n do
        set[2 * c + 1] = ARGV[at + c - 1]
      end
      redis.call('HSET', unpack(set))
      at = at + n
    else
      local mask, some, none = ARGV[at], {KEYS[i]}, {KEYS[i]}
      at = at + 1
      for c = 1, n do
        if string.byte(mask, c) == 49 then
          some[#some + 1] = set[2 * c]
          some[#some + 1] = ARGV[at]
          at = at + 1
        else
          none[#none + 1] = set[2 * c]
        end
      end
      redis.call('HSET', unpack(some))
      if not replace then
        redis.call('HDEL', unpack(none))
      end
    end
    if m > 0 and op ~= 's' and not replace then
      redis.call('HDEL', KEYS[i], unpack(ARGV, gone + 1, gone + m))
    end
  end
end
return there
