<?php
// A receiver of webhooks that accepts only signed requests. PHP 8.0 or later, no packages.
//
//   WEBHOOK_SECRETS=whsec_… php -S 127.0.0.1:9000 receiver.php
//
// During a rotation WEBHOOK_SECRETS may hold both secrets, separated by a space.
declare(strict_types=1);

const TOLERANCE_SECONDS = 5 * 60;
const LARGEST_BODY = 1_000_000;

// Return whether one of our secrets signed exactly these bytes in the last minutes.
function is_genuine(array $secrets, string $id, string $timestamp, string $signatures, string $body): bool
{
    if (!ctype_digit($timestamp) || abs(time() - (int) $timestamp) > TOLERANCE_SECONDS) {
        return false;
    }
    foreach ($secrets as $secret) {
        $key = base64_decode(preg_replace('/^whsec_/', '', $secret));
        $right = 'v1,' . base64_encode(hash_hmac('sha256', "$id.$timestamp.$body", $key, true));
        foreach (explode(' ', $signatures) as $given) {
            // hash_equals takes as long for a wrong signature as for a right one.
            if (hash_equals($right, $given)) {
                return true;
            }
        }
    }
    return false;
}

// Put the event where your own work begins. Keep it short: the answer must come within 15 seconds.
function handle(array $event): void
{
    file_put_contents('php://stdout', "{$event['sequence']} {$event['action']} {$event['event_id']}\n");
}

// A file for each id in this example. Keep the ids in your database, in the transaction of the work: attempts of one
// event go on for days, and a person can have it sent again later.
function path_of(string $id): string
{
    $folder = getenv('WEBHOOK_SEEN') ?: sys_get_temp_dir() . '/webhooks-seen';
    is_dir($folder) || mkdir($folder, 0700, true);
    return $folder . '/' . hash('sha256', $id);
}

// The signature covers the original bytes: a parsed and rewritten body has another one.
$body = file_get_contents('php://input', false, null, 0, LARGEST_BODY + 1);
$id = $_SERVER['HTTP_WEBHOOK_ID'] ?? '';
$timestamp = $_SERVER['HTTP_WEBHOOK_TIMESTAMP'] ?? '';
$signatures = $_SERVER['HTTP_WEBHOOK_SIGNATURE'] ?? '';
$secrets = explode(' ', (string) getenv('WEBHOOK_SECRETS'));

if (strlen($body) > LARGEST_BODY) {
    http_response_code(413);
} elseif (!is_genuine($secrets, $id, $timestamp, $signatures, $body)) {
    http_response_code(401);
} else {
    if (!file_exists(path_of($id))) {
        if (str_starts_with($_SERVER['CONTENT_TYPE'] ?? '', 'application/json')) {
            $event = json_decode($body, true, flags: JSON_THROW_ON_ERROR);
        } else {
            parse_str($body, $event);
        }
        handle($event);
        touch(path_of($id));
    }
    // A repeated event gets the same answer, or it would be sent again.
    http_response_code(204);
}
