#!/usr/bin/env bash
# Starts LocalStack in Docker (compose.yaml), deploys landfall.yaml to it, and keeps it running. Arguments go to `cdk
# deploy`.
set -euo pipefail
cd "$(dirname "$0")/../.."

docker compose version >/dev/null 2>&1 || { echo "Docker with Compose is missing: install it, or run make e2e-localstack or landfall dev" >&2; exit 1; }
docker compose up --detach --wait

unset AWS_PROFILE AWS_SESSION_TOKEN
export AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test AWS_REGION=us-east-1
export AWS_ENDPOINT_URL=http://localhost:4566 AWS_ENDPOINT_URL_S3=http://localhost:4566
arch=$(go env GOARCH) # containers of this machine run the functions
make build GOARCH_LAMBDA="$arch"
npx cdk bootstrap "aws://000000000000/$AWS_REGION"
npx cdk deploy --require-approval never -c stage=dev -c architecture="$arch" -c owned_queues=true "$@"

cat <<END

The stack landfall-dev is in LocalStack. Its functions run in containers, which reach this machine not at 127.0.0.1 but at
host.docker.internal (Docker Desktop) or at one of its addresses. Change the destinations in landfall.yaml accordingly, and
run this again.

    export AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test AWS_REGION=$AWS_REGION AWS_ENDPOINT_URL=$AWS_ENDPOINT_URL
    ./build/landfall --stack landfall-dev enqueue charge --key order-42 --data '{"amount": 1500}'
    ./build/landfall --stack landfall-dev rows list
    docker compose down    # remove everything
END
