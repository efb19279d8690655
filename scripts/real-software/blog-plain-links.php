<?php
/** Enables plain links, for the server that is only requested by `?p=1` and `?rest_route=`. */

if (getenv('BLOG_PLAIN') === '1') {
    add_filter('pre_option_permalink_structure', fn () => '');
}
