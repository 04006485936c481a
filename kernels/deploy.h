/* deploy.h: what the tools need of the deployment path beyond gopt.h. */
#ifndef GOPT_DEPLOY_H
#define GOPT_DEPLOY_H

#include "engine.h"

/* The engine behind a session; owned by the session. */
gopt_engine *gopt_session_engine(gopt_session *s);

#endif
