-- Changes rows. KEYS: the position, where there is a guard, then a key for each row. ARGV:
--   guard                   token of the writer, or '' for none
--   'f' or ''               whether the rows replace whatever is there (a full epoch)
--   n field …               the fields of a hash
--   m field …               fields that no row has any more
--   'w' or ''               whether any row is written, not just deleted
-- then for each row
--   'd'                     delete
--   's' value               a string
--   'h' value …             a hash, a value for each field
--   'n' mask value …        a hash with nulls: mask has '1' for a field that has a value, '0' for one to remove
-- Returns how many of the keys were there before, if rows replace.
local replace, n = ARGV[2] == 'f', tonumber(ARGV[3])
local m, gone = tonumber(ARGV[4 + n]), 4 + n
local at = gone + m + 2
local key, there = 1, 0
if ARGV[1] ~= '' then
  if redis.call('HGET', KEYS[1], 'writer') ~= ARGV[1] then
    return redis.error_reply('FENCED another writer has begun')
  end
  if ARGV[at - 1] == 'w' then -- the server asks for room at a script's first write only: a delete must not be that
    redis.call('HSET', KEYS[1], 'writer', ARGV[1])
  end
  key = 2
end
local set = {}
for c = 1, n do
  set[2 * c] = ARGV[3 + c]
end

-- Removes the fields of a hash that are not among those just set.
local function trim(row, fields)
  if redis.call('HLEN', row) * 2 == #fields - 1 then
    return
  end
  local keep = {}
  for f = 2, #fields, 2 do
    keep[fields[f]] = true
  end
  for _, field in ipairs(redis.call('HKEYS', row)) do
    if not keep[field] then
      redis.call('HDEL', row, field)
    end
  end
end

-- Sets fields, and says whether the hash has been there. What is no hash under the key makes way for a full epoch.
local function write(row, fields)
  if replace then
    local kind = redis.call('TYPE', row).ok
    if kind ~= 'hash' and kind ~= 'none' then
      redis.call('DEL', row)
      there = there + 1
    end
  end
  if redis.call('HSET', unpack(fields)) * 2 < #fields - 1 and replace then
    there = there + 1
  end
  if replace then
    trim(row, fields)
  end
end

for i = key, #KEYS do
  local row, op = KEYS[i], ARGV[at]
  at = at + 1
  if op == 'd' then
    redis.call('UNLINK', row)
  elseif op == 's' then
    if replace then
      there = there + redis.call('EXISTS', row)
    end
    redis.call('SET', row, ARGV[at], 'KEEPTTL')
    at = at + 1
  elseif op == 'h' then
    set[1] = row
    for c = 1, n do
      set[2 * c + 1] = ARGV[at + c - 1]
    end
    write(row, set)
    at = at + n
  else
    local mask, some, none = ARGV[at], {row}, {row}
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
    write(row, some)
    if not replace then
      redis.call('HDEL', unpack(none))
    end
  end
  if m > 0 and not replace and (op == 'h' or op == 'n') then
    redis.call('HDEL', row, unpack(ARGV, gone + 1, gone + m))
  end
end
return there
