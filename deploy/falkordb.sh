#!/bin/sh
# Starts the database of docker-compose.yml with users of its own: `default` is off, and the
# supervisor's password is $FALKORDB_PASSWORD.
#
# The logins of agents, which `so-mcp grant` put into the same file, stay. Of a password only its hash
# is there; a new one of the supervisor counts from the next start on.
set -eu
umask 077

if [ "${#FALKORDB_PASSWORD}" -lt 32 ]; then
    echo "FALKORDB_PASSWORD: expected 32 characters or more. Make one: openssl rand -hex 32" >&2
    exit 1
fi

cd "$FALKORDB_DATA_PATH"
digest=$(printf %s "$FALKORDB_PASSWORD" | sha256sum | cut -d ' ' -f 1)
{
    echo "user default reset off"
    echo "user so-supervisor reset on #$digest allkeys allchannels allcommands"
    if [ -f users.acl ]; then
        sed -e '/^user default /d' -e '/^user so-supervisor /d' users.acl
    fi
} > users.acl.new
mv users.acl.new users.acl

unset FALKORDB_PASSWORD
exec "$FALKORDB_BIN_PATH/run.sh"
