// How the two ends of a new connection prove to each other that they know the session's token, which never travels.
//
//   listener -> connector   magic, challenge L
//   connector -> listener   magic, number, challenge C, HMAC(token, "connects", number, L, C)
//   listener -> connector   HMAC(token, "listens", number, L, C)
//
// Challenges are random. The labels keep a proof from being sent back to its maker. All messages have a fixed size, and nothing else is
// read from a peer, or made for it, before its proof was right. What follows the handshake is neither encrypted nor signed: the network
// between the machines has to be trusted (docs/cluster.md). HMAC-SHA-256 and random bytes are libsodium's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace query::cluster::transport {

// What the processes of one session know and nobody else does.
class session_token {
 public:
  static constexpr std::size_t size = 32;
  static session_token random();
  static session_token from_text(std::string_view hex);  // throws cluster_error
  ~session_token();                                      // clears it
  session_token(const session_token&) = default;
  session_token& operator=(const session_token&) = default;

  std::string text() const;
  const std::array<unsigned char, size>& bytes() const { return bytes_; }

 private:
  session_token() = default;
  std::array<unsigned char, size> bytes_{};
};

using challenge = std::array<unsigned char, 32>;
using proof = std::array<unsigned char, 32>;
inline constexpr std::array<unsigned char, 8> handshake_magic{'q', 'u', 'e', 'r', 'y', 'H', 'S', '1'};

struct listener_greeting {
  std::array<unsigned char, 8> magic = handshake_magic;
  challenge of_listener{};
};
struct connector_proof {
  std::array<unsigned char, 8> magic = handshake_magic;
  std::array<unsigned char, 8> number{};  // the connector's, lowest byte first
  challenge of_connector{};
  proof right{};
};
static_assert(sizeof(listener_greeting) == 40 && sizeof(connector_proof) == 80);

enum class side { connects, listens };
proof proof_of(const session_token& token, side who, const connector_proof& from, const challenge& of_listener);
bool same(const proof& a, const proof& b);  // in a time that says nothing about them
void fill_random(challenge& c);

}  // namespace query::cluster::transport
