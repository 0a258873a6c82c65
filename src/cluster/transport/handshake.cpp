#include "cluster/transport/handshake.hpp"

#include <sodium.h>

#include <query/errors.hpp>

namespace query::cluster::transport {

namespace {

void begin_sodium() {
  static const int begun = ::sodium_init();
  if (begun < 0) throw cluster_error("cluster: no random numbers from the system");
}

static_assert(sizeof(proof) == crypto_auth_hmacsha256_BYTES && session_token::size == crypto_auth_hmacsha256_KEYBYTES);

}  // namespace

session_token session_token::random() {
  begin_sodium();
  session_token t;
  ::randombytes_buf(t.bytes_.data(), t.bytes_.size());
  return t;
}
session_token session_token::from_text(std::string_view hex) {
  begin_sodium();
  session_token t;
  std::size_t n = 0;
  if (hex.size() != 2 * size || ::sodium_hex2bin(t.bytes_.data(), size, hex.data(), hex.size(), nullptr, &n, nullptr) != 0 || n != size)
    throw cluster_error("cluster: a session's token is " + std::to_string(2 * size) + " hexadecimal digits");
  return t;
}
session_token::~session_token() { ::sodium_memzero(bytes_.data(), bytes_.size()); }

std::string session_token::text() const {
  std::string hex(2 * size + 1, '\0');
  ::sodium_bin2hex(hex.data(), hex.size(), bytes_.data(), size);
  hex.pop_back();
  return hex;
}

proof proof_of(const session_token& token, side who, const connector_proof& from, const challenge& of_listener) {
  proof made{};
  crypto_auth_hmacsha256_state state;
  const auto add = [&](const auto& bytes) { ::crypto_auth_hmacsha256_update(&state, bytes.data(), bytes.size()); };
  ::crypto_auth_hmacsha256_init(&state, token.bytes().data(), token.bytes().size());
  const std::array<unsigned char, 8> label{who == side::connects ? static_cast<unsigned char>('c') : static_cast<unsigned char>('l')};
  add(label);
  add(from.number);
  add(of_listener);
  add(from.of_connector);
  ::crypto_auth_hmacsha256_final(&state, made.data());
  ::sodium_memzero(&state, sizeof state);
  return made;
}

bool same(const proof& a, const proof& b) { return ::sodium_memcmp(a.data(), b.data(), a.size()) == 0; }
void fill_random(challenge& c) {
  begin_sodium();
  ::randombytes_buf(c.data(), c.size());
}

}  // namespace query::cluster::transport
