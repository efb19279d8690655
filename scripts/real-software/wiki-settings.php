
# Settings in addition to those written by the installer.
$wgArticlePath = '/wiki/$1';
$wgJobRunRate = 0;
$wgShowExceptionDetails = true;
$wgEnableEmail = false;
