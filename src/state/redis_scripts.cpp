#include "state/redis_scripts.hpp"

#include "state/redis_script_pieces.hpp"

#include <array>

namespace sluice::state::scripts {

namespace {

const std::string take_field = R"lua(
local function take_field(name)
  if redis.call('HDEL', k, 'r:' .. name) == 0 then return 0 end
  local left = ''
  for other in string.gmatch(redis.call('HGET', k, 'names') or '', '([^\n]*)\n') do
    if other ~= name then left = left .. other .. '\n' end
  end
  redis.call('HSET', k, 'names', left)
  return 1
end
)lua";
// By the clock of the server: the replicas' own may differ.
const std::string now = R"lua(
local t = redis.call('TIME')
local now = tonumber(t[1]) * 1000 + math.floor(tonumber(t[2]) / 1000)
)lua";

} // namespace

// value, ttl
const redis_script put_new{
    key + R"lua(
local there = redis.call('GET', k)
if there then return there end
redis.call('SET', k, ARGV[1], 'PX', ARGV[2])
return false
)lua",
    0
};

// expected, value, ttl
const redis_script replace{
    key + R"lua(
if redis.call('GET', k) ~= ARGV[1] then return 0 end
redis.call('SET', k, ARGV[2], 'PX', ARGV[3])
return 1
)lua",
    1
};

// ttl, kind, owner, name, value …
const redis_script create{
    key + put_fields + R"lua(
if redis.call('EXISTS', k) == 1 then return 0 end
redis.call('HSET', k, '.', ARGV[2])
if ARGV[2] == 'l' then
  redis.call('HSET', k, 'epoch', 1, 'owner', ARGV[3])
end
put_fields(4, #ARGV)
redis.call('PEXPIRE', k, ARGV[1])
return 1
)lua",
    2
};

const redis_script read{
    key + get_fields + R"lua(
if redis.call('HEXISTS', k, '.') == 0 then return false end
return get_fields()
)lua",
    3
};

// name, value …
const redis_script set{
    key + put_fields + R"lua(
if redis.call('HEXISTS', k, '.') == 0 then return 0 end
put_fields(1, #ARGV)
return 1
)lua",
    4
};

// name, value
const redis_script set_new{
    key + put_fields + R"lua(
if redis.call('HEXISTS', k, '.') == 0 then return 0 end
local there = redis.call('HGET', k, 'r:' .. ARGV[1])
if there then return there end
put_fields(1, 2)
return false
)lua",
    5
};

// name, expected, value
const redis_script set_if{
    key + take_field + R"lua(
if redis.call('HGET', k, 'r:' .. ARGV[1]) ~= ARGV[2] then return 0 end
if ARGV[3] == '' then return take_field(ARGV[1]) end
redis.call('HSET', k, 'r:' .. ARGV[1], ARGV[3])
return 1
)lua",
    6
};

// name
const redis_script unset{
    key + take_field + R"lua(
return take_field(ARGV[1])
)lua",
    7
};

// member, ttl, cap
const redis_script enlist{
    key + now + R"lua(
redis.call('ZREMRANGEBYSCORE', k, '-inf', now)
local cap, ttl = tonumber(ARGV[3]), tonumber(ARGV[2])
if cap > 0 and not redis.call('ZSCORE', k, ARGV[1])
    and redis.call('ZCARD', k) >= cap then return 0 end
redis.call('ZADD', k, now + ttl, ARGV[1])
if redis.call('PTTL', k) < ttl then redis.call('PEXPIRE', k, ttl) end
return 1
)lua",
    11
};

// member
const redis_script leave{
    key + now + R"lua(
local till = redis.call('ZSCORE', k, ARGV[1])
if not till then return 0 end
redis.call('ZREM', k, ARGV[1])
if tonumber(till) > now then return 1 end
return 0
)lua",
    12
};

const redis_script members{
    key + now + R"lua(
return redis.call('ZRANGEBYSCORE', k, '(' .. string.format('%.0f', now), '+inf')
)lua",
    13
};

const redis_script& at(int number) {
    static const std::array<const redis_script*, count> all = {
        &put_new,
        &replace,
        &create,
        &read,
        &set,
        &set_new,
        &set_if,
        &unset,
        &append,
        &read_log,
        &adopt_log,
        &enlist,
        &leave,
        &members,
    };
    return *all[static_cast<std::size_t>(number)];
}

} // namespace sluice::state::scripts
