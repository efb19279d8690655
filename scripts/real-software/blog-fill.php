<?php
/**
 * Sets up the blog and creates its content. The tests in test/real read the same numbers from content.json and repeat the same texts.
 * Usage: php blog-fill.php <folder of WordPress>
 */

declare(strict_types=1);

define('WP_INSTALLING', true);
require $argv[1] . '/wp-load.php';
require ABSPATH . 'wp-admin/includes/upgrade.php';

/** Replaces the function of WordPress, which sends a mail. */
function wp_new_blog_notification(): void
{
}

$content = json_decode(file_get_contents(__DIR__ . '/content.json'), true, 16, JSON_THROW_ON_ERROR)['blog'];
wp_install('Harbour & coast', 'keeper', 'keeper@blog.example', true, '', wp_generate_password());
update_option('timezone_string', 'Europe/Berlin');
update_option('permalink_structure', '/%year%/%monthnum%/%postname%/');
update_option('comment_moderation', 0);
foreach (get_posts(['post_type' => ['post', 'page'], 'post_status' => 'any', 'numberposts' => -1]) as $sample) {
    wp_delete_post($sample->ID, true);
}

$authors = array_map(
    fn (string $login, string $name) => wp_insert_user([
        'user_login' => $login,
        'user_pass' => wp_generate_password(),
        'user_email' => "$login@blog.example",
        'display_name' => $name,
        'role' => 'author',
    ]),
    ['ada', 'ben'],
    ['Ada Quist', 'Ben "B." Ruiz & Sons'],
);
$news = wp_create_category('News & dates');

/** Returns UTC and local time; consecutive numbers are one hour apart. */
function times(int $number): array
{
    $utc = gmdate('Y-m-d H:i:s', gmmktime(22, 30, 0, 1, 2, 2020) + 3600 * $number);
    return ['post_date_gmt' => $utc, 'post_date' => get_date_from_gmt($utc)];
}

function add(array $fields): int
{
    return wp_insert_post(['post_status' => 'publish', ...$fields], true);
}

$posts = [];
for ($number = 1; $number <= $content['posts']; $number++) {
    $word = $number <= $content['found'] ? 'Limescale' : 'Salt';
    $posts[$number] = add([
        'post_title' => "Post $number & more",
        'post_content' => "<!-- wp:paragraph -->\n<p>$word in the “kettle” of boat $number.</p>\n<!-- /wp:paragraph -->\n\n"
            . "<!-- wp:list -->\n<ul>\n<!-- wp:list-item -->\n<li>Boil it</li>\n<!-- /wp:list-item -->\n"
            . "<!-- wp:list-item -->\n<li>Rinse it</li>\n<!-- /wp:list-item --></ul>\n<!-- /wp:list -->",
        'post_excerpt' => "About boat $number.",
        'post_author' => $authors[$number % 2],
        'post_category' => [$news],
        'tags_input' => $number % 2 === 0 ? ['tea', 'salt & pepper'] : [],
        ...times($number),
    ]);
}
$picture = wp_insert_attachment(
    ['post_title' => 'Door', 'post_mime_type' => 'image/png', 'guid' => 'door.png'],
    'door.png',
    $posts[1],
);
set_post_thumbnail($posts[1], $picture);
// Visitors who are not logged in may not find any of these, except the title of the password-protected one.
add(['post_title' => 'Draft', 'post_content' => 'Secret draft', 'post_status' => 'draft']);
add(['post_title' => 'Private', 'post_content' => 'Secret private', 'post_status' => 'private', ...times(900)]);
add(['post_title' => 'Locked', 'post_content' => 'Secret locked', 'post_password' => 'key', ...times(901)]);

$parent = 0;
for ($number = 1; $number <= $content['pages']; $number++) {
    $page = add([
        'post_type' => 'page',
        'post_title' => "Page $number",
        'post_content' => "<p>Page $number of the harbour.</p>",
        'post_author' => $authors[0],
        'post_parent' => $parent,
        ...times($number),
    ]);
    $parent = $number === 1 ? $page : $parent;
}
set_post_thumbnail($page, $picture);

$answered = 0;
for ($number = 1; $number <= $content['comments']; $number++) {
    ['post_date_gmt' => $utc, 'post_date' => $local] = times($number);
    $comment = wp_insert_comment([
        'comment_post_ID' => $posts[2],
        'comment_author' => $number === 1 ? 'Noor & Lio' : 'Noor',
        'comment_author_email' => 'noor@blog.example',
        'comment_author_url' => $number === 1 ? 'https://noor.example/' : '',
        'comment_content' => "Thank you for <b>$number</b> of them.",
        'comment_date_gmt' => $utc,
        'comment_date' => $local,
        'comment_approved' => 1,
        'comment_parent' => $number === 2 ? $answered : 0,
    ]);
    $answered = $number === 1 ? $comment : $answered;
}
wp_insert_comment(['comment_post_ID' => $posts[2], 'comment_content' => 'Spam', 'comment_approved' => 0]);

global $wp_rewrite;
$wp_rewrite->init();
flush_rewrite_rules(false);
