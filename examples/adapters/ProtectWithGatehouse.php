<?php
// Middleware for Laravel 10 or newer. Put it into app/Http/Middleware and examples/languages/gatehouse.php beside it, then
//
//     // bootstrap/app.php:  $middleware->alias(['gatehouse' => ProtectWithGatehouse::class]);
//     // AppServiceProvider: $this->app->singleton(Gatehouse::class, fn () => new Gatehouse(env('GATEHOUSE_URL'), env('GATEHOUSE_KEY')));
//     Route::post('/login', LoginController::class)->middleware('gatehouse:login,email');          // decides and reports
//     Route::post('/login', LoginController::class)->middleware('gatehouse:login,email,enforce');  // BLOCK is a 403
//
// Your controller finds the decision in $request->attributes->get('gatehouse'), and acts on SOFT_CHALLENGE and REVIEW. Set TrustProxies, so
// that $request->ip() is the visitor's address.

namespace App\Http\Middleware;

use Closure;
use Gatehouse\Gatehouse;
use Gatehouse\GatehouseError;
use Illuminate\Http\Request;
use Symfony\Component\HttpFoundation\Response;

final class ProtectWithGatehouse
{
    public function __construct(private Gatehouse $gatehouse)
    {
    }

    public function handle(Request $request, Closure $next, string $eventType, string $field = 'email', string $mode = 'observe'): Response
    {
        $isEnforced = $mode === 'enforce';
        try {
            $result = $this->gatehouse->decide($this->describe($request, $eventType, $field));
        } catch (GatehouseError $error) {
            if ($isEnforced) {
                throw $error;
            }
            error_log("gatehouse: $eventType is not protected: {$error->getMessage()}");
            return $next($request);
        }
        $decision = $isEnforced ? $result['decision'] : 'ALLOW';
        $request->attributes->set('gatehouse', ['decision' => $decision] + $result);
        return $decision === 'BLOCK' ? new Response('You cannot do this here.', 403) : $next($request);
    }

    /** Laravel calls it after the response has left. Set the attribute `gatehouse_outcome` where the response does not show the outcome. */
    public function terminate(Request $request, Response $response): void
    {
        $result = $request->attributes->get('gatehouse');
        if ($result === null || $result['decision'] === 'BLOCK') {
            return;
        }
        $ofResponse = $result['decision'] === 'SOFT_CHALLENGE' ? null : $this->outcomeOf($request, $response->getStatusCode());
        $outcome = $request->attributes->get('gatehouse_outcome', $ofResponse);
        if ($outcome !== null) {
            $this->gatehouse->outcome($result, $outcome);
        }
    }

    /** Laravel redirects after right and wrong passwords; only after right ones there is a user. */
    private function outcomeOf(Request $request, int $status): ?string
    {
        return match (true) {
            $status === 402 => 'declined',
            $status === 429, $status >= 500 => null,
            $status >= 400 => 'failed',
            $status >= 300 => $request->user() === null ? 'failed' : 'succeeded',
            default => 'succeeded',
        };
    }

    private function describe(Request $request, string $eventType, string $field): array
    {
        return [
            'event_type' => $eventType,
            'ip' => $request->ip(),
            'user_agent' => $request->userAgent(),
            'url' => $request->url(),
            // The id of the session must not leave the application; its digest is as stable.
            'session_token' => $request->input('session_token') ?: hash('sha256', 'gatehouse' . $request->session()->getId()),
            'entity_keys' => ['email' => (string) $request->input($field)],
            'headers' => ['accept' => $request->header('Accept'), 'accept-language' => $request->header('Accept-Language')],
        ];
    }
}
