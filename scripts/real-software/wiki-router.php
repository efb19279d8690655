<?php
/** Provides readable addresses on PHP's built-in server: `/wiki/<title>` for pages, `/w` for the scripts. */

$path = parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH);
if (str_starts_with($path, '/w/')) {
    return false;
}
if ($path !== '/' && !str_starts_with($path, '/wiki/')) {
    http_response_code(404);
    return true;
}
$_SERVER['SCRIPT_NAME'] = $_SERVER['PHP_SELF'] = '/w/index.php';
$_SERVER['SCRIPT_FILENAME'] = $_SERVER['DOCUMENT_ROOT'] . '/w/index.php';
chdir($_SERVER['DOCUMENT_ROOT'] . '/w');
require $_SERVER['SCRIPT_FILENAME'];
