#!/usr/bin/env bash
# Tests the connectors with the real MediaWiki and the real WordPress from Debian's packages: test/real.
#
#   bash scripts/real-software.sh [vitest options]
#
# Both run on loopback in a temporary folder, on PHP's built-in server; their content is in scripts/real-software. All processes and files
# are removed at the end of the script. PHP and the MariaDB server are installed with apt-get where they are missing, which requires root;
# the software itself is only unpacked, so no web server and no service of the machine is affected. DEBS=<folder> reads the packages from
# that folder, and downloads missing ones to it. KEEP=1 keeps everything running until Enter is pressed.
set -euo pipefail

case ${1:-} in
-h | --help)
  # Prints the comment at the top of this file.
  sed -n '2,/^set/s/^# \{0,1\}//p' "$0"
  exit 0
  ;;
esac

here=$(cd "$(dirname "$0")" && pwd)
parts=$here/real-software
work=$(mktemp -d)
debs=${DEBS:-$work/debs}
pids=()

stop() {
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  for pid in "${pids[@]}"; do wait "$pid" 2>/dev/null || true; done
  rm -rf "$work"
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

say() { printf '%s\n' "real-software: $*" >&2; }

# Prints the output of a command only when it fails.
quietly() {
  "$@" >"$work/log" 2>&1 || {
    cat "$work/log" >&2
    say "failed: $*"
    exit 1
  }
}

install_missing() {
  local packages=(php-cli php-sqlite3 php-mysql php-xml php-mbstring php-intl php-gd mariadb-server-core mariadb-client-core eatmydata)
  local missing=()
  for package in "${packages[@]}"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return
  if [ "$(id -u)" -ne 0 ]; then
    say "these packages are missing, and installing them requires root: ${missing[*]}"
    exit 2
  fi
  say "installing ${missing[*]}"
  quietly apt-get update
  DEBIAN_FRONTEND=noninteractive quietly apt-get install -y --no-install-recommends "${missing[@]}"
}

unpack_software() {
  local package
  mkdir -p "$debs" "$work/root"
  for package in mediawiki mediawiki-classes wordpress wordpress-theme-twentytwentythree php-getid3; do
    compgen -G "$debs/${package}_*.deb" >/dev/null || (cd "$debs" && quietly apt-get download -o APT::Sandbox::User=root "$package")
    dpkg-deb -x "$(compgen -G "$debs/${package}_*.deb" | tail -n 1)" "$work/root"
  done
}

# Starts a background command that runs until the end of the script, with its output in a file.
start() {
  local name=$1
  shift
  "$@" >"$work/$name.log" 2>&1 &
  pids+=($!)
}

# Waits until a command succeeds, at most a minute.
await() {
  local name=$1 tries=0
  shift
  until "$@" >/dev/null 2>&1; do
    tries=$((tries + 1))
    if [ $tries -ge 240 ]; then
      cat "$work/$name.log" >&2
      say "$name did not start"
      exit 1
    fi
    sleep 0.25
  done
}

free_ports() {
  node -e '
    const { createServer } = require("node:net");
    const servers = Array.from({ length: 3 }, () => createServer().listen(0, "127.0.0.1"));
    Promise.all(servers.map((server) => new Promise((done) => server.on("listening", done)))).then(() => {
      console.log(servers.map((server) => server.address().port).join(" "));
      servers.forEach((server) => server.close());
    });'
}

# Uses only the PHP settings given here, independent of the machine's. Data created here need not survive a power failure.
php_quiet=(eatmydata php -d memory_limit=512M -d display_errors=stderr -d error_reporting=22527)

set_up_wiki() {
  local wiki=$work/root/usr/share/mediawiki
  rm -f "$wiki"/{LocalSettings.php,config,extensions,images}
  ln -s extensions-core "$wiki/extensions"
  mkdir -p "$wiki/images" "$work/wiki-db" "$work/wiki-root"
  ln -s "$wiki" "$work/wiki-root/w"
  quietly "${php_quiet[@]}" "$wiki/maintenance/install.php" --dbtype=sqlite --dbpath="$work/wiki-db" --scriptpath=/w \
    --server="http://127.0.0.1:$wiki_port" --pass="$(openssl rand -hex 16)" 'Harbour wiki' Keeper
  cat "$parts/wiki-settings.php" >>"$wiki/LocalSettings.php"
  "${php_quiet[@]}" "$parts/wiki-export.php" >"$work/wiki.xml"
  quietly "${php_quiet[@]}" "$wiki/maintenance/createAndPromote.php" 'Ada Quist' "$(openssl rand -hex 16)"
  quietly "${php_quiet[@]}" "$wiki/maintenance/importDump.php" "$work/wiki.xml"
  # Hides the author's name of the 600th entry, as administrators may do.
  quietly "${php_quiet[@]}" "$wiki/maintenance/sql.php" \
    --query "UPDATE revision SET rev_deleted = 4 WHERE rev_timestamp = '20200102180000'"
  quietly "${php_quiet[@]}" "$wiki/maintenance/runJobs.php"
  quietly "${php_quiet[@]}" "$wiki/maintenance/rebuildtextindex.php"
  start wiki "${php_quiet[@]}" -S "127.0.0.1:$wiki_port" -t "$work/wiki-root" "$parts/wiki-router.php"
  await wiki curl -fsS "http://127.0.0.1:$wiki_port/w/api.php?action=query&meta=siteinfo&format=json"
}

set_up_blog() {
  local blog=$work/root/usr/share/wordpress user
  export BLOG_SOCKET=$work/sql.sock
  user=$(id -un)
  quietly eatmydata mariadb-install-db --no-defaults --user="$user" --datadir="$work/sql" --auth-root-authentication-method=normal
  start sql eatmydata "$(command -v mariadbd || echo /usr/sbin/mariadbd)" --no-defaults --user="$user" --datadir="$work/sql" \
    --socket="$BLOG_SOCKET" --pid-file="$work/sql.pid" --skip-networking
  await sql "${php_quiet[@]}" -r '
    $db = new mysqli("localhost", "root", "", "", 0, getenv("BLOG_SOCKET"));
    $db->query("CREATE DATABASE IF NOT EXISTS blog CHARACTER SET utf8mb4");
    $db->query("CREATE OR REPLACE USER blog@localhost");
    $db->query("GRANT ALL ON blog.* TO blog@localhost");'
  rm -f "$blog/.htaccess" "$blog/wp-config.php"
  cp "$parts/blog-config.php" "$blog/wp-config.php"
  mkdir -p "$blog/wp-content/mu-plugins" "$blog/wp-content/uploads"
  cp "$parts/blog-plain-links.php" "$blog/wp-content/mu-plugins/"
  quietly env HTTP_HOST="127.0.0.1:$blog_port" "${php_quiet[@]}" "$parts/blog-fill.php" "$blog"
  start blog "${php_quiet[@]}" -S "127.0.0.1:$blog_port" -t "$blog" "$parts/blog-router.php"
  start plain env BLOG_PLAIN=1 "${php_quiet[@]}" -S "127.0.0.1:$plain_port" -t "$blog" "$parts/blog-router.php"
  await blog curl -fsS "http://127.0.0.1:$blog_port/"
  await plain curl -fsS "http://127.0.0.1:$plain_port/"
}

install_missing
unpack_software
read -r wiki_port blog_port plain_port <<<"$(free_ports)"
say 'setting up MediaWiki'
set_up_wiki
say 'setting up WordPress'
set_up_blog

export REAL_WIKI=http://127.0.0.1:$wiki_port REAL_BLOG=http://127.0.0.1:$blog_port REAL_PLAIN_BLOG=http://127.0.0.1:$plain_port
say "MediaWiki $REAL_WIKI, WordPress $REAL_BLOG and, with plain links, $REAL_PLAIN_BLOG"
cd "$here/.."
node_modules/.bin/vitest run --config test/vitest.real.config.ts "$@" || result=$?
if [ "${KEEP:-}" = 1 ]; then
  say 'press Enter to end'
  read -r _ || true
fi
exit "${result:-0}"
