<?php
/**
 * Writes the content of the wiki in MediaWiki's export format. The tests in test/real read the same numbers from content.json and
 * repeat the same texts.
 */

declare(strict_types=1);

$content = json_decode(file_get_contents(__DIR__ . '/content.json'), true, 16, JSON_THROW_ON_ERROR)['wiki'];

function revision(array $content, int $number, string $text, string $comment): string
{
    $author = $content['authors'][$number % count($content['authors'])];
    $contributor = filter_var($author, FILTER_VALIDATE_IP) ? "<ip>$author</ip>" : "<username>$author</username>";
    $time = gmdate('Y-m-d\TH:i:s\Z', gmmktime(8, 0, 0, 1, 2, 2020) + 60 * $number);
    $minor = $number % 5 === 0 ? '<minor/>' : '';
    $escaped = htmlspecialchars($text, ENT_XML1);
    return "<revision><timestamp>$time</timestamp><contributor>$contributor</contributor>$minor<comment>$comment</comment>"
        . "<model>wikitext</model><format>text/x-wiki</format><text xml:space=\"preserve\">$escaped</text></revision>";
}

function page(string $title, string ...$revisions): string
{
    return '<page><title>' . htmlspecialchars($title, ENT_XML1) . '</title>' . implode('', $revisions) . "</page>\n";
}

$harbour = <<<'TEXT'
'''Harbour''' is where the boats are, and the [[Log book]] says when they left.

== Prices ==
{| class="wikitable"
|+ Boats for hire
! Boat !! Price
|-
| Skiff || 10
|-
| Dinghy || 12
|}

* Open from May to October
* Closed in a storm & on ''Mondays''

[https://boats.example/hire?from=wiki Hire one].
[[Category:Places]] [[Category:Seen]]
TEXT;

echo '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="en">', "\n";
for ($number = 1; $number <= $content['boats']; $number++) {
    $text = "'''Boat $number''' is a skiff of the harbour.\n\n[[Category:Boats]]";
    echo page("Boat $number", revision($content, $number, $text, 'new'));
}
$entries = [];
for ($number = 1; $number <= $content['entries']; $number++) {
    $entries[] = revision($content, $number, "Entry $number of the book.", "Entry $number");
}
echo page('Log book', ...$entries);
echo page('Harbour', revision($content, 0, $harbour, 'new'));
echo page('Old harbour', revision($content, 1, '#REDIRECT [[Harbour]]', 'moved'));
echo page('Ferry & Co? (100%)/Ålesund: C++', revision($content, 2, "A ferry.\n[[Category:Ferries]]", 'new'));
echo page('Category:Boats', revision($content, 3, 'All of them. [[Category:Ferries]]', 'new'));
echo page('Category:Ferries', revision($content, 4, 'Large boats.', 'new'));
echo page('Category:Seen', revision($content, 4, '__HIDDENCAT__', 'new'));
echo page('Talk:Harbour', revision($content, 5, 'Are there showers?', 'question'));
echo "</mediawiki>\n";
