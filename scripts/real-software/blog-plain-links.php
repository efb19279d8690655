<?php
/** For the server that is asked by `?p=1` and `?rest_route=` alone. */

if (getenv('BLOG_PLAIN') === '1') {
    add_filter('pre_option_permalink_structure', fn () => '');
}
