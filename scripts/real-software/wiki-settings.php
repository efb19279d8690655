
# Beside what the installer wrote.
$wgArticlePath = '/wiki/$1';
$wgJobRunRate = 0;
$wgShowExceptionDetails = true;
$wgEnableEmail = false;
