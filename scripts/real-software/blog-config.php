<?php
/** Settings of the blog. The script that starts it provides the database and the folder of its files. */

define('DB_NAME', 'blog');
define('DB_USER', 'blog');
define('DB_PASSWORD', '');
define('DB_HOST', 'localhost:' . getenv('BLOG_SOCKET'));
define('DB_CHARSET', 'utf8mb4');
define('DB_COLLATE', '');
define('WP_CONTENT_DIR', __DIR__ . '/wp-content');
define('DISABLE_WP_CRON', true);
define('AUTOMATIC_UPDATER_DISABLED', true);
define('WP_HTTP_BLOCK_EXTERNAL', true);
// Uses the requested host in addresses, so that a second server can serve the same blog with plain links.
define('WP_HOME', 'http://' . ($_SERVER['HTTP_HOST'] ?? '127.0.0.1'));
define('WP_SITEURL', WP_HOME);
foreach (['AUTH', 'SECURE_AUTH', 'LOGGED_IN', 'NONCE'] as $name) {
    define($name . '_KEY', 'for tests');
    define($name . '_SALT', 'for tests');
}
$table_prefix = 'wp_';
if (!defined('ABSPATH')) {
    define('ABSPATH', __DIR__ . '/');
}
require_once ABSPATH . 'wp-settings.php';
