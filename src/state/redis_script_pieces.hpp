// Pieces of Lua that scripts of several files begin with. Internal to state.
#pragma once

#include <string>

namespace sluice::state::scripts {

inline const std::string key = "local k = KEYS[1]\n";
// Fields are ARGV[from], ARGV[from + 1], … up to `to`.
inline const std::string put_fields = R"lua(
local function put_fields(from, to)
  local fresh = ''
  for i = from, to, 2 do
    if redis.call('HSET', k, 'r:' .. ARGV[i], ARGV[i + 1]) == 1 then
      fresh = fresh .. ARGV[i] .. '\n'
    end
  end
  if fresh ~= '' then
    redis.call('HSET', k, 'names', (redis.call('HGET', k, 'names') or '') .. fresh)
  end
end
)lua";
inline const std::string get_fields = R"lua(
local function get_fields()
  local all = {}
  for name in string.gmatch(redis.call('HGET', k, 'names') or '', '([^\n]*)\n') do
    all[#all + 1] = name
    all[#all + 1] = redis.call('HGET', k, 'r:' .. name)
  end
  return all
end
)lua";

} // namespace sluice::state::scripts
