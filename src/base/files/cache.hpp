// A disk cache of blobs, most of all of compiled kernels, named by the hash of everything that went into them.
//
// A cache may be lost at any moment and must never do harm, so nothing here throws: what cannot be read is not there,
// what cannot be written is not kept. Entries are published by rename, so that readers in other processes see a whole
// entry or none; each carries a checksum of its key and content in a trailer, and one that does not match (a crash,
// a bad disk, a file put there by hand) is deleted and forgotten.
//
// Entries are code that will run, and a checksum only tells accidents. So nobody but this user and root may have had a
// hand in them: the folder and all above it belong to one of the two and can be written by nobody else (a sticky folder
// as /tmp may be, and one of the user's own private group), an entry is a regular file of one name with such an owner,
// opened once, without following links and without waiting. What was read and checked is what is used; no path is
// handed out. Else there is no cache: for root in another user's home, say.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/hash.hpp"
#include "base/process/fork.hpp"

namespace tessera::base {

// Thread-safe, and safe with any number of processes.
class Cache {
 public:
  static constexpr std::int64_t default_size = std::int64_t{1} << 30;

  // Uses `folder` (made when missing, for this user alone); "", or one that cannot be trusted, is a cache that keeps
  // nothing.
  explicit Cache(std::string folder, std::int64_t max_bytes = default_size);
  // The folder for this user: $TESSERA_CACHE, else $XDG_CACHE_HOME/tessera, else ~/.cache/tessera, else "".
  // TESSERA_CACHE set to an empty string turns caching off.
  static std::string default_folder();
  // The cache in default_folder(), made on first use.
  static Cache& user();

  std::optional<std::string> get(const Digest& key);
  // True when it was kept. Evicts the entries that were used longest ago when the cache is full.
  bool put(const Digest& key, std::string_view content);
  // A text for a person to look at; its path, "" where it could not be kept. Without a cache it lies in the folder of
  // temporary files, under a name that nobody can foresee.
  std::string save_text(const std::string& name, const std::string& suffix, std::string_view text) const;
  // Drops every entry; returns how many.
  std::int64_t clear();

  const std::string& folder() const { return folder_; }
  std::int64_t size() const;  // bytes of all entries now

 private:
  void evict();

  std::string folder_;
  std::int64_t max_bytes_;
  Mutex mutex_;
  std::int64_t unchecked_ = INT64_MAX / 2;  // bytes put since the folder was last measured
};

}  // namespace tessera::base
